"""The names of the functions that are built in: a file may not define them anew, and `check` says so.

What they do is in runtime/convo; a test holds that it has exactly these.
"""

_NAMES = """
    add and array aryAdd aryConcat aryDistinct aryFindMatch aryJoin aryRandomize aryRemove aryRemoveMatch break
    case contains dateTime dec deepCompare default div do elif else enum eq fn foreach getNodeInfo getNodeInput
    getObjKeys getVar gt gte httpDelete httpGet httpPatch httpPost httpPut if in inc is isIn isUndefined lt lte
    map merge mod mul neq new not now or pow print rand regexMatch return setVar starMatch struct sub switch test
    then toJson uuid while
"""

BUILT_IN = frozenset(_NAMES.split())
