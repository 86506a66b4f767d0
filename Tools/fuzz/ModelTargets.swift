import KVCloneModel
import KVCloneTestSupport

@testable import KVCloneCoreData

/// Compiled models: archives, binary and XML, and the version information of a bundle.
let modelTargets: [FuzzTarget] = [
  FuzzTarget(name: "compiled-model", seeds: compiledSeeds, run: compiledModel),
  FuzzTarget(
    name: "version-info",
    seeds: [false, true].map { ModelArchiveWriter.versionInfo([compiledSeed], current: "M", isXML: $0) },
    run: versionInfo),
]

private let compiledSeed = ManagedObjectModel(
  name: "M", versionIdentifier: "M",
  entities: [
    EntityDescription(
      name: "A",
      attributes: [
        AttributeDescription("a", .string, default: "x", min: 1, regularExpression: "a*"),
        AttributeDescription("n", .integer64, derivation: "s.@count"),
      ],
      relationships: [
        RelationshipDescription("s", toMany: "A", inverse: "p"), RelationshipDescription("p", toOne: "A", inverse: "s"),
      ]),
    EntityDescription(
      name: "B", superentityName: "A", attributes: [AttributeDescription("d", .decimal, default: .decimal(7))],
      indexes: [FetchIndexDescription("i", [.init("d")], partialPredicate: "d > 1")]),
  ], configurations: ["C": ["A"]],
  fetchRequestTemplates: [FetchRequestTemplate("f", entity: "A", predicate: "a BEGINSWITH[c] $T OR NOT a == nil")])

private let compiledSeeds: [[UInt8]] = [
  ModelArchiveWriter.bytes(compiledSeed),
  ModelArchiveWriter.bytes(compiledSeed, .init(usesProxies: true, usesKnownKeys: true)),
  ModelArchiveWriter.bytes(compiledSeed, .init(usesProxies: true, isXML: true)),
]

/// Checks that a model that can be read can be described, and that its predicates can be parsed again.
@Sendable private func compiledModel(_ bytes: UnsafeRawBufferPointer) {
  guard let model = try? ModelArchive.model(in: Array(bytes), name: "M").model else { return }
  for request in model.fetchRequestTemplates {
    guard let text = request.predicateString else { continue }
    precondition(
      (try? QueryPredicate(format: text))?.predicateFormat == text,
      "an archived predicate is another one when it is read")
  }
  if (try? model.validate()) != nil { _ = model.modelHash }
}

@Sendable private func versionInfo(_ bytes: UnsafeRawBufferPointer) {
  _ = CompiledModelInfo(Array(bytes))
}
