import Foundation
import KVCloneCoreData
import KVCloneGenerator
import KVCloneModel

// Generates Swift for a model, for the build plugin: `KVCloneModelTool MODEL FILE.swift`, with a source or compiled model.
// It is a separate program, because a package that only generates Swift for its model need not build the store and the
// command line tool.

let arguments = CommandLine.arguments
guard arguments.count == 3 else {
  FileHandle.standardError.write(
    Data("usage: KVCloneModelTool MODEL.xcdatamodeld|MODEL.momd|MODEL.mom FILE.swift\n".utf8))
  exit(64)
}
do {
  let loaded = try ManagedObjectModel.load(contentsOf: arguments[1])
  let file = URL(fileURLWithPath: arguments[2])
  let generated = try ModelGenerator(loaded.model).singleFile(named: file.lastPathComponent)
  try Data(generated.text.utf8).write(to: file, options: .atomic)
} catch {
  // The format that build systems recognize as an error.
  FileHandle.standardError.write(Data("\(arguments[1]): error: \(error)\n".utf8))
  exit(1)
}
