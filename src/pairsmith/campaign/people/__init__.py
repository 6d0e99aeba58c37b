"""Who takes part in a campaign.

invites     links for single raters and organisers
enrolment   links by which people enrol themselves
lookalikes  refuse names that look alike
seals       this user's key, and seals made with it
trust       campaigns that this user made or confirmed
"""
