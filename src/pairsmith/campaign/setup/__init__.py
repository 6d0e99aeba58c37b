"""Making campaigns: from a table of items, with more items later, and two to try.

create     a table of items becomes a campaign
additions  more items for a campaign that has begun
prompts    what items answer, and who wrote them
demo       two campaigns to try
"""
