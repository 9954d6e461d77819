"""One head of d against h heads of d/h: same parameters, same order of work, other patterns."""

from mha_view.page import open_page
from mha_view.walk import why_heads

page = open_page("why_heads")
page.draw_chips("d", "h", "d_head", "S", "pattern", "heads")
one = why_heads.as_one(page)
if one is None:
    why_heads.draw_many_alone(page)
else:
    why_heads.draw_both(page, one)
