"""What happened: ratings, tables, positions and their pictures."""

# Who analyses when nobody is named: leaves and trees that fill both the vectors and the cores with one position, and a
# small c, which gathers the visits where they tell something.
ANALYST = "uct:simulations=12800,c=0.4,leaves=32,ensemble=2"
