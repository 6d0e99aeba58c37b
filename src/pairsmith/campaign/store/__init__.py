"""The database of a campaign, and everything that reads or writes it directly.

schema      the tables
database    open SQLite files and PostgreSQL databases; errors in one line
store       an open campaign: transactions, settings, items
statements  the SQL of every request
snapshot    the campaign at one moment: all that planning and reporting may read
items       features, groups, labels, and what raters see of the items
media       images and sounds, opened without leaving the campaign's folder
answers     answers that count, and answers that were made elsewhere
wordings    the questions and instructions, as they were edited
raters      rows of raters
changes     what organisers did
integrity   whether the content was damaged or edited
guard       whether the file is still the one that was opened
backup      a copy of a campaign
migrations  how tables of earlier versions become today's
"""
