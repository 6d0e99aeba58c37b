"""What the model has learned, for people to read.

report       the report of a question, computed as JSON
dashboard    the figures of the page, and the last report
history      the doubt that the model claimed over time, and its predictions
calibration  whether its predictions came true
agreement    how far programs agree with people
raters       how each rater answers
forecasts    how many more answers it will take
advice       what the figures mean, in sentences
ranking      the items in order, as people browse them
browse       single answers, as organisers browse them
"""
