import Dispatch
import KVClone
import KVCloneExplorer
import KVCloneTestSupport

/// Requests of the explorer: method, target, headers and body of any bytes get a valid response.
let explorerTargets: [FuzzTarget] = [FuzzTarget(name: "explorer", seeds: explorerSeeds, run: explorer)]

private let explorerSeeds = [
  "GET /\nHost: localhost\nAccept: text/html;q=0.5, application/json",
  "GET /entities/Item?where=title%20==%20'a'&sort=-number&columns=title,number&limit=5&after=x\nHost: localhost:80",
  "GET /objects/Item/1.json\nHost: [::1]\nCookie: kvclone=1", "GET /objects/Item/1/blob/photo\nRange: bytes=0-9",
  "GET /entities/Item.csv?subentities=0", "HEAD /model/Item~.json?at=before\nAccept: */*", "GET /find?id=Item/1",
  "POST /clone/Item/1\nOrigin: http://localhost\nContent-Type: application/x-www-form-urlencoded\n\ncount=2&exclude=a",
  "GET /compare?from=a&to=b", "GET /graph/Item/1?depth=2", "GET /store/check", "GET /assets/explorer.css?v=1",
  "GET /time.csv", "GET /model/versions", "GET /%3Cfuzz%3E/%E2%80%AE?%22fuzz=%00&a=%FF",
].map { Array($0.utf8) }

private let explorers: [Explorer] = {
  do {
    // An engine of its own, because other targets corrupt the one of the template.
    let engine = MemoryStorage()
    engine.restore(TemplateStore.shared.sound)
    let store = try StoreOpening.assemble(engine, path: "memory", model: nil, options: StoreOptions())
    var options = ExplorerOptions()
    options.requestTimeLimit = .milliseconds(500)
    var guarded = options
    (guarded.allowedHosts, guarded.token, guarded.basePath) = (["localhost"], "t", "/b")
    return [Explorer(store, options: options), Explorer(store, options: guarded)]
  } catch {
    preconditionFailure("the template cannot be opened: \(error)")
  }
}()

/// Splits an input into the parts of a request.
private func request(_ bytes: UnsafeRawBufferPointer) -> ExplorerRequest {
  let parts = String(decoding: bytes, as: UTF8.self).split(separator: "\n\n", maxSplits: 1)
  let lines = (parts.first ?? "").split(separator: "\n")
  let start = (lines.first ?? "").split(separator: " ", maxSplits: 1)
  let target = (start.count > 1 ? start[1] : "").split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
  let headers = lines.dropFirst().map { line in
    let sides = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    return (name: String(sides[0]), value: sides.count > 1 ? String(sides[1].drop { $0 == " " }) : "")
  }
  return ExplorerRequest(
    method: start.first.map(String.init) ?? "", path: target.first.map(String.init) ?? "",
    query: target.count > 1 ? String(target[1]) : "", headers: headers,
    body: parts.count > 1 ? Array(parts[1].utf8) : [])
}

@Sendable private func explorer(_ bytes: UnsafeRawBufferPointer) {
  let request = request(bytes)
  for explorer in explorers {
    let done = DispatchSemaphore(value: 0)
    Task {
      check(await explorer.respond(to: request))
      done.signal()
    }
    done.wait()
  }
}

private func check(_ response: ExplorerResponse) {
  precondition((200...599).contains(response.status) && response.status != 500, "the status is \(response.status)")
  precondition(
    response.headers.contains { $0.name == "Content-Security-Policy" && $0.value.hasPrefix("default-src 'none'") },
    "a response without a policy")
  for field in response.headers {
    precondition(field.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a control character in \(field.name)")
  }
  guard case .bytes(let body) = response.body else { return }
  let isPage = response.headers.contains { $0.name == "Content-Type" && $0.value.hasPrefix("text/html") }
  let text = String(decoding: body, as: UTF8.self)
  precondition(!isPage || (!text.contains("<fuzz") && !text.contains("\"fuzz")), "a name became markup")
}
