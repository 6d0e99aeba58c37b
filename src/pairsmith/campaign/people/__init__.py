"""Who takes part in a campaign.

invites     invites of raters and organisers
enrolment   links by which people invite themselves
lookalikes  names that look alike
seals       the key of this user, and what is sealed with it
trust       whether this user made or confirmed a campaign
"""
