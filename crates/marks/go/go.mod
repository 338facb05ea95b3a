module tailtrace/marks

go 1.19
