"""The database of a campaign, and everything that reads or writes it directly.

schema      the tables
database    open SQLite files and PostgreSQL databases; errors in one line
store       an open campaign: transactions, options, items
statements  the SQL of every request
snapshot    the campaign at one moment: all that planning and reporting may read
items       features, groups, labels, and what raters see of the items
media       open images and sounds without leaving the campaign's folder
answers     load the answers that count, add answers given elsewhere
wordings    versions of the questions and instructions
raters      find raters by name
changes     the log of what organisers did
integrity   refuse content that was damaged or edited
guard       notice that the file was removed or replaced
backup      copy a campaign
migrations  bring the tables of an earlier version up to this one
"""
