import BenchmarkSupport
import PhotoStores

/// Clones in stores with a cold page cache.
struct ColdRow {
  let row: ServiceRow
  let title: String
  let recipe: GraphRecipe
  let rotation: Rotation
  let folder: String

  func run() async throws -> RowResult {
    report("\(row.rawValue): \(title)")
    let (source, warm, copy) = (folder + "/cold-source", folder + "/cold-warm", folder + "/cold-copy")
    defer { for path in [source, warm, copy] { StoreFiles.remove(path) } }
    try KVCloneStore.make(at: warm, .document)
    try KVCloneStore.make(at: source, recipe)
    StoreFiles.settle(source)
    let peers = CloneProcess.Peer.allCases
    let samples = try await rotation.run(peers) { peer in
      try StoreFiles.copy(source, to: copy, cold: true)
      defer { StoreFiles.remove(copy) }
      let reply = try CloneProcess.ask(peer, toClone: recipe.rootName, in: copy, warmingUpIn: warm)
      guard reply.objectCount == recipe.objects, reply.objectsAfter - reply.objectsBefore == recipe.objects else {
        throw PeerFailure(
          "\(peer.title) cloned \(reply.objectCount) of \(recipe.objects) objects, and the store has "
            + "\(reply.objectsAfter) after \(reply.objectsBefore)")
      }
      return Sample(
        operations: 1, seconds: reply.seconds, processorSeconds: reply.processorSeconds,
        anonymousBytes: reply.anonymousBytes, diskBytesRead: reply.diskBytesRead)
    }
    let contestants = zip(peers, samples).map { ContestantResult(title: $0.title, samples: $1) }
    for one in contestants {
      report("  \(one.title): \(duration(one.seconds.median)), \(bytes(one.diskBytesRead)) read")
    }
    return RowResult(row: row, title: title, contestants: contestants)
  }
}
