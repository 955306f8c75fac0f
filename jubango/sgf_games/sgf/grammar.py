"""sgfmill's parts that are used here. From Python 3.12 on its sources are warned of when they are first compiled."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from sgfmill import sgf_grammar as sgf_grammar
    from sgfmill import sgf_properties as sgf_properties
