"""The Bradley-Terry model: scores of items from labels and answers, with how sure they are.

    bradley_terry      BradleyTerry, a scikit-learn estimator: fit, rank, compare
    cross_validation   BradleyTerryCV: the same with the ridge chosen by what was held out
    evidence           what a model is fitted to, checked, as rows of one logistic regression; which label is the better
    logistic           the numerics: the estimate to the last digit, AUC, probabilities averaged over a posterior
    prior              the ridge where nobody chose one
    saved              a fitted model as a file of JSON

Words: the *ridge* is the penalty on |beta|^2, that is, how closely the prior holds scores to 0; *evidence* is labels
and answers together; what is *held out* is not fitted to, but predicted.
"""
