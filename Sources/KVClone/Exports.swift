// `import KVClone` is all that a user writes: models and their files come along.
@_exported public import KVCloneBranches
@_exported public import KVCloneCore
@_exported public import KVCloneCoreData
@_exported public import KVCloneModel
@_exported public import KVCloneQuery
