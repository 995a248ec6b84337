// The node's page in a real browser; of its own, because it needs nothing but Go.
module sliced.test/page

go 1.26.0
