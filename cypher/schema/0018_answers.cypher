// What an answer cost is in properties of the Metadata beside it: graph/answers.py, which this file names, adds them to
// what earlier versions stored as text alone; it has no command of its own. The message graph's seed draws the metadata
// as one node inside the box of a chat response, with `Temp: 1.0` as a line of that node. So temperature and the others
// are properties of that node, and no nodes of their own: a temperature has no identity, and nothing leads from it.
