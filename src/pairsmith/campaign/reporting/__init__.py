"""What the model has learned, for people to read.

report       everything that takes computing, as JSON
dashboard    the figures of the page, and the last report
history      what the model claimed at the time
calibration  whether its predictions came true
agreement    how far programs agree with people
raters       how each rater answers
forecasts    how many more answers it will take
advice       what all of it means, in sentences
ranking      the items in order, as people look at them
browse       answers one by one
"""
