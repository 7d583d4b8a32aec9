"""Knowledge bases: entities with their names and facts, in one SQLite file each.

    dump        the lines of a knowledge dump read, malformed ones counted
    importing   millions of lines into a knowledge base, sorted on the disk
    file        the schema of the file, and the names that an entity goes by
    base        `KnowledgeBase`: entities by name, and the gazetteer for linking
    data        the small football knowledge base that comes with focus

`focus kb import` reads a dump (CN-DBpedia's public form, or a list of aliases) line by line; names
are sorted by SQLite itself, so memory stays flat. While a classifier is trained, names in its pages
are linked to entities (`focus.score.statistics.entities`); those that the model needs go into the
model file as a table, so that no scorer worker opens a knowledge base.

It is a database of its own: it knows no crawl, and no crawl knows it.

What surprised us: the facts of one entity need not stand together in a dump, and no memory holds
all of them. So an entity may have several rows, which are one on reading.
"""
