"""How do people of a group use `watch` in a browser? `focus serve`, made of these modules."""
