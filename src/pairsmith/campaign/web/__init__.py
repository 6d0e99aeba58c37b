"""A campaign in the browser.

Handlers hold no logic: they check who makes a request and call the packages that answer, plan and report.

app       the app of a campaign: all routes put together, and its error messages
gate      checks that every request passes first, and headers of every response
access    who may use a campaign: invites in cookies or headers, or anybody at this machine
api       what the scripts of the pages and programs request
contract  the models of requests and responses, and the strict reading of JSON
pages     what people open: pages, their languages, downloads; templates/ and static/ need no framework, no build step
media     the images and sounds of items, and thumbnails
folder    the page that lists the campaigns of a folder
server    limits on connections: how many, and for how long
words/    the texts of the raters' pages, a file for each language
"""
