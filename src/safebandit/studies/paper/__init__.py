"""The paper, reproduced: its simulations (`runs`), its figures, its claims put to the test, and a report of it all."""
