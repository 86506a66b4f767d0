import KVClone

let path = CommandLine.arguments.dropFirst().first ?? "todo.kvclone"
let store = try ObjectStore.open(at: path, model: model)
