"""From a request for a pair to a stored answer.

leases       pairs handed out, answers taken and taken back
goals        budgets, quotas, deadlines; paused and closed campaigns
gold         pairs with a known outcome, to see who answers with care
corrections  excluding raters and striking out answers
"""
