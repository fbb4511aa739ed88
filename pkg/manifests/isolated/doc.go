// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package isolated runs a generator in a process of its own, which can be killed.
//
// A Go template cannot be interrupted: one that loops without output, or that allocates without end, takes the operator down.
// A [Generator] therefore starts the operator's own program again for each rendering, sends it the input,
// and receives the objects. The process is killed when the context ends or the time is over; it fails when it needs too much
// memory; and it ends when the operator does, however that happens. A panic is an error.
//
// The program must call Main before it does anything else:
//
//	func main() {
//		program := isolated.Main(map[string]isolated.Definition{"shop": {New: newGenerator, Types: []any{&v1.Shop{}, &v1.ShopSpec{}}}})
//		...
//		generator, err := program.NewGenerator("shop", isolated.Options{})
//
// Each rendering starts the program and makes the generator. As with any generator, objects are used
// again if the generator is manifests.Pure.
//
// # The context of the generator
//
// The context has the same values of package generator as in the operator. Clients can read objects and
// map kinds; the operator reads on their behalf, with its own clients, and records that. The process has no connection of its own;
// writes and all other requests fail. Logs go to standard error. Other values of the context are missing.
//
// Parameters and component have the same Go types as in the operator, if these are among Definition.Types. They are copied field by
// field, with the loaded Secrets and ConfigMaps that they refer to. You need not list types.UnstructurableMap for parameters and
// unstructured.Unstructured for a component; in the map, numbers become int64 or float64, and other
// values their JSON form. Values of other types, or with content that is no data, such as a function, are refused. Objects
// may be unstructured, or of types of client-go or of the generator (by types.SchemeBuilder).
//
// Errors keep their text, and whether they are a types.RetriableError or an error of the API server; other Go types are lost.
//
// # Limits
//
// A message in either direction (the parameters, the objects, or a list that was read) takes at most 16 MiB.
// Only Linux enforces the memory limit; elsewhere the garbage collector tries to keep it. There are no
// other limits: the process runs as the same user, with the same files and environment, so it is not a sandbox for foreign code.
package isolated
