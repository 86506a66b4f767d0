import KVClone
import KVCloneExplorer

private func mounting(_ store: ObjectStore) async -> ExplorerResponse {
  var options = ExplorerOptions()
  options.basePath = "/explorer"
  options.allowedHosts = ["admin.example.com"]
  let explorer = Explorer(store, options: options)

  let response = await explorer.respond(
    to: ExplorerRequest(method: "GET", path: "/explorer/objects/Note/12", headers: [("Host", "admin.example.com")]))

  return response
}
