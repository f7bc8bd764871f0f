"""The pages for people: what each shows to whom, its forms, its charts, and how they are rendered."""
