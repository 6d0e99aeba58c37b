"""From a request for a pair to a stored answer.

leases       pairs handed out, answers taken and taken back
goals        budgets, quotas, deadlines; paused and closed campaigns
gold         pairs whose outcome is known
corrections  raters excluded, answers struck out
"""
