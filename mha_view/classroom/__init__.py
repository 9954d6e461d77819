"""What a teacher needs before a class: links to hand out, presenting, a route through the pages."""
