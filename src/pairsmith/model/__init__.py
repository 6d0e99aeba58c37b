"""The Bradley-Terry model: scores of items from labels and answers, with how sure they are.

bradley_terry   BradleyTerry and BradleyTerryCV, scikit-learn estimators
logistic        their numerics: the estimate to the last digit, AUC, probabilities averaged over a posterior
"""
