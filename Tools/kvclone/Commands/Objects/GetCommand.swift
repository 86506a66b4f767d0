import ArgumentParser
import KVClone
import KVCloneExplorer
import KVCloneOperations

struct GetCommand: ReadingCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Shows the values and links of an object.",
    discussion: "With --depth, also shows the objects that it links to, recursively and each once.",
    examples: ["kvclone -s notes.kvclone get Note/12", "kvclone -s notes.kvclone get Note/12 --depth 2 --json"])

  @OptionGroup var global: GlobalOptions

  @Argument(help: ArgumentHelp("The object.", valueName: "id"), completion: StoreCompletion.objects)
  var id: String

  @Option(help: "Number of relationship levels to follow, 0 to 20.")
  var depth = 0

  func validate() throws {
    // Each step nests the document by two levels, and parsers limit the depth.
    if !(0...20).contains(depth) { throw ValidationError("--depth needs a number from 0 to 20") }
  }

  func run(_ store: ObjectStore) throws {
    let output = Output()
    var printer = ObjectTree(model: store.model, output: output, isJSON: global.json)
    try store.read { transaction in
      let root = try transaction.objectID(named: id)
      try printer.print(root, depth: depth, transaction)
    }
    try output.flush()
  }
}

/// An object and its linked objects, each once, nearest to the root.
private struct ObjectTree {
  private let model: ManagedObjectModel
  private let output: Output
  private let isJSON: Bool
  private var writer: ObjectLineWriter

  init(model: ManagedObjectModel, output: Output, isJSON: Bool) {
    self.model = model
    self.output = output
    self.isJSON = isJSON
    writer = ObjectLineWriter(model: model)
  }

  mutating func print<T: ObjectReading & ~Copyable>(
    _ root: ObjectID, depth: Int, _ transaction: borrowing T
  ) throws {
    let children = try children(of: root, depth: depth, transaction)
    if isJSON {
      try printJSON(root, children, isNested: depth > 0, transaction)
      writer.json.newLine()
      try writer.flush { try output.write($0) }
    } else {
      try printText(root, children, indentation: "", transaction)
    }
  }

  /// By object, the objects that are shown below it: breadth first, so that each is as near to the root as possible.
  private func children<T: ObjectReading & ~Copyable>(
    of root: ObjectID, depth: Int, _ transaction: borrowing T
  ) throws -> [ObjectID: [ObjectID]] {
    var result: [ObjectID: [ObjectID]] = [:]
    var seen: Set<ObjectID> = [root]
    var level = [root]
    for _ in 0..<depth where !level.isEmpty {
      var next: [ObjectID] = []
      for id in level {
        for relationship in model.relationships(of: try transaction.object(id).entityName)
        where !relationship.isTransient {
          for member in try transaction.members(id, relationship.name) where seen.insert(member).inserted {
            result[id, default: []].append(member)
            next.append(member)
          }
        }
      }
      level = next
    }
    return result
  }

  private mutating func printJSON<T: ObjectReading & ~Copyable>(
    _ id: ObjectID, _ children: [ObjectID: [ObjectID]], isNested: Bool, _ transaction: borrowing T
  ) throws {
    let sink: ObjectLineWriter.Sink = { [output] in try output.write($0) }
    writer.json.beginObject()
    try writer.writeMembers(try transaction.object(id), in: transaction, to: sink)
    if isNested || children[id] != nil {
      writer.json.key("objects")
      writer.json.beginArray()
      for child in children[id] ?? [] { try printJSON(child, children, isNested: false, transaction) }
      writer.json.endArray()
    }
    writer.json.endObject()
    try writer.flushIfLarge(to: sink)
  }

  private func printText<T: ObjectReading & ~Copyable>(
    _ id: ObjectID, _ children: [ObjectID: [ObjectID]], indentation: String, _ transaction: borrowing T
  ) throws {
    let object = try transaction.object(id)
    let properties = try ValueText.properties(of: object, model, transaction, memberLimit: 10)
    try output.line(indentation + object.name)
    let width = properties.map(\.name.count).max() ?? 0
    for (name, text) in properties {
      try output.paragraph("\(indentation)  \(Text.padded(name, width))  \(text)", hanging: width + 2)
    }
    for child in children[id] ?? [] {
      try printText(child, children, indentation: indentation + "    ", transaction)
    }
  }
}
