"""Terminal output of `focus judge`; the output of all other commands is in `focus.commands`.

judging           `focus judge`
"""
