"""How are pages asked for over the network? The parts that `focus.fetch` is made of."""
