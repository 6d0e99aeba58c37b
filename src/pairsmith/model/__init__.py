"""The Bradley-Terry model: scores of items from labels and answers, with their uncertainty.

The paper's model has scores that are linear in the features:

    bradley_terry      BradleyTerry, a scikit-learn estimator: fit, rank, compare
    cross_validation   BradleyTerryCV: the ridge chosen by cross-validation
    logistic           the numerics: an accurate fit, AUC, probabilities averaged over a posterior

The Gaussian process also learns what features do not explain, and knows what it does not know. In reading order:

    gaussian_process   BradleyTerryGP, the estimator
    fitting            from merged answers to variances, sites and a posterior; scores drawn for simulations
    prior              features as coordinates of the linear and the smooth part, and the parts' covariances
    variances          how large each part is, by the evidence of the answers
    propagation        expectation propagation: a site for each answer, the evidence, leave-one-out predictions
    posterior          mean and covariance of the scores, doubt, reliability and ranks
    raters             how well each rater tells items apart
    ranking            tables of items, items within groups, and authors

Both use:

    evidence           labels and answers, checked and merged; recognising the items of the fit
    saving             fitted models as JSON files

Terms: the *ridge* is the penalty on |beta|^2, which sets how close the prior holds scores to 0. A *part* of a score is
linear, smooth, or the item's own effect. A *site* is the Gaussian that stands for an answer, and its *cavity* is the
posterior given all other answers. *Evidence* is the marginal likelihood of the answers under the prior.
"""
