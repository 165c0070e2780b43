"""How Active Messages travel over Sun Fire Link."""
