"""Making campaigns.

create     make a campaign from its items and options
table      read a table of items
additions  add items to a campaign
demo       two campaigns to try
"""
