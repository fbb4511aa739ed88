// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package isolated lets a generator work in a process of its own, which can be ended.
//
// A Go template cannot be interrupted: one that loops without output, or that collects more and more, takes the operator along.
// A [Generator] therefore starts the operator's own program again for each rendering, gives it what the rendering is
// about, and takes the objects. The process is killed when the context ends or the time is over; it fails when it needs too much
// memory; and it ends when the operator does, however that happens. A panic is an error.
//
// The program has to know that it is such a process, before it does anything else:
//
//	func main() {
//		program := isolated.Main(map[string]isolated.Definition{"shop": {New: newGenerator, Types: []any{&v1.Shop{}, &v1.ShopSpec{}}}})
//		...
//		generator, err := program.NewGenerator("shop", isolated.Options{})
//
// It costs the start of the program and the making of the generator, per rendering; as with any generator, objects are used
// again if the generator is manifests.Pure.
//
// # What the generator finds
//
// It finds in its context what it would find in the operator: the values of package manifests. Clients can read objects and
// map kinds; reads are done by the operator, with its clients, and are recorded there. The process has no connection of its own;
// writing and everything else that would need one fails. Logs go to standard error. Other values of the context are missing.
//
// Parameters and component have the same Go types as in the operator, if these are among Definition.Types; they are copied field by
// field, with what was loaded from Secrets and ConfigMaps that they refer to. Parameters that are a types.UnstructurableMap, and
// a component that is an unstructured.Unstructured, need not be mentioned; in the map, numbers become int64 or float64, and other
// values what their JSON form is. Whatever is of another type, or contains what is no data, such as a function, is refused. Objects
// may be unstructured, or of types that client-go or the generator (by types.SchemeBuilder) know.
//
// Errors keep their text, and whether they are a types.RetriableError or an error of the API server; other Go types are lost.
//
// # Limits
//
// What is sent in either direction, be it the parameters, the objects, or a list that was read, takes at most 16 MiB.
// Only Linux enforces the limit of memory; elsewhere it is what the garbage collector strives for. Other limits
// are none: the process runs as the same user, with the same files and environment, so it is not a sandbox for foreign code.
package isolated
