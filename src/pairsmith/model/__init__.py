"""The Bradley-Terry model: scores of items from labels and answers, with how sure they are.

bradley_terry   BradleyTerry and BradleyTerryCV, scikit-learn estimators
prior           the ridge where nobody chose one
logistic        their numerics: the estimate to the last digit, AUC, probabilities averaged over a posterior
"""
