import Foundation
import KVCloneCoreData
import KVCloneGenerator
import KVCloneModel

// What the build plugin runs: `KVCloneModelTool MODEL FILE.swift`, with the path of a model, source or compiled. It is
// a program of its own, so that a package which only wants its model as Swift need not build the store and the command
// line first.

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
  // In the form in which build systems look for errors.
  FileHandle.standardError.write(Data("\(arguments[1]): error: \(error)\n".utf8))
  exit(1)
}
