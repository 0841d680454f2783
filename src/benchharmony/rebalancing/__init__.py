"""The parts of rebalancing: orders, stops, controls, tests, curve, fragility, exports, views."""
