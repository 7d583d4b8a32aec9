"""Knowledge bases: entities with their names and facts, in one SQLite file each.

    dump            reads the lines of a knowledge dump, counts malformed ones
    importing       writes millions of lines into a knowledge base, sorted on disk
    schema          schema of the file, and the names of an entity
    knowledge_base  `KnowledgeBase`: entities by name, and the gazetteer for linking
    data            the small football knowledge base that is part of focus

`focus research kb import` reads a dump (CN-DBpedia's public form, or a list of aliases) line by
line. SQLite sorts the names, so memory stays constant. During training, names in pages are linked
to entities (`focus.score.statistics.entities`); those that the model needs are written to the
model file as a table, so that no scorer process opens a knowledge base.

A knowledge base is independent of the databases of crawls.

The facts of one entity need not be adjacent in a dump, and memory cannot contain all of them. An
entity may therefore have several rows, which are combined on reading.
"""
