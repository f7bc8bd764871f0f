"""With several workers on PostgreSQL a trial is at home in one of them, which writes what the others are asked in it.

A worker that is asked reads the request, checks its key and answers it, as without this; only what is to be written
goes to the trial's home and back, over a socket in a folder that nobody else can enter. So requests of one trial share
transactions, whichever worker each of them came to, and the home need not read the state that another one has left.
What a proxy mixes on its connections, and TLS, make no difference.

Nothing depends on it: the database's locks decide. Where the home is away, what was not sent to it is written here; of
what was sent the answer is that of any request whose answer was lost, and to ask again is safe.
"""
