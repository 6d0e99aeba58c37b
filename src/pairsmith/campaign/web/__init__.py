"""A campaign in the browser. Handlers hold no logic: they check who asks and pass it to `leases` and `dashboard`.

app        all of it put together, and how errors are told
access     who asks: the cookie or the header of an invite, or whoever sits at this machine
pages      what people open in a browser; templates/, static/: no framework, no build step
languages  the words of the rating page; words/: a file a language
correcting answers one by one, and what organisers put right
api        what the pages' scripts, and programs, ask and answer
bodies     what a request may bring: JSON in which no key is repeated
media      the images and sounds of items; downloads: the ranking and the answers as CSV
folder     the campaigns of a folder, listed
markdown   Markdown as HTML that can do no harm and leaves no text out
gate       what every request passes before it is looked at, and what every response carries
server     who may hold a connection, and for how long
"""
