"""The Bradley-Terry model: scores of items from labels and answers, with how sure they are.

The paper's model, a score linear in the features:

    bradley_terry      BradleyTerry, a scikit-learn estimator: fit, rank, compare
    cross_validation   BradleyTerryCV: the same with the ridge chosen by what was held out
    logistic           the numerics: the estimate to the last digit, AUC, probabilities averaged over a posterior
    prior              the ridge where nobody chose one
    saved              a fitted model as a file of JSON

A model that also learns what features do not say, and knows what it does not know:

    gaussian_process          BradleyTerryGP: linear part, smooth part, an effect for each item; raters
    answered                  labels and answers, each pair once for everyone who answered it
    posterior                 the posterior of scores, given a Gaussian for each answer: by items, scores or answers
    expectation_propagation   those Gaussians, and the evidence of the answers for the prior
    parts                     the parts of scores, in the form in which the posterior is computed soonest
    variances                 how large each part is, by that evidence
    feature_map               features standardised, and smooth functions of them
    learned                   all of it put together, from answers to a posterior
    joint                     what the posterior says about the order of items
    ranking                   tables that rank: items, items within groups, those who made them; how sure an order is
    imagined                  scores drawn with their variances: what could be true, for simulations
    raters                    how well each rater tells items apart
    left_out                  each answer as all others predict it
    item_ids                  why the ids of items do not match those of the fit
    saved_gaussian_process    a fitted model as a file of JSON

For both:

    evidence           what a model is fitted to, checked; which label is the better

Words: the *ridge* is the penalty on |beta|^2, that is, how closely the prior holds scores to 0; *evidence* is labels
and answers together; what is *held out* is not fitted to, but predicted.
A *part* of a score is linear, smooth, or the item's own; a *site* is the Gaussian that stands for an answer, and its
*cavity* what all other answers say.
"""
