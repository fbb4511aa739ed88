// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package editors has typed editors. Each edits one part of a Kubernetes object that is built in memory: the spec of a
// Deployment, a container, the entries of a ConfigMap. Editors send no requests, and are not meant for objects that
// were read from a cluster.
//
//	container := editors.NewContainerEditor(&deployment.Spec.Template.Spec.Containers[0])
//	container.SetImage("example.io/web:1.4")
//	container.EnsureEnvVar(corev1.EnvVar{Name: "LOG_LEVEL", Value: "debug"})
//
// # Rules for all editors
//
// Set methods replace a field. Where they take a pointer, a map or a list, nil clears the field.
//
// Ensure methods put one item into a list, or one entry into a map. The comment of each method says what identifies an
// item. The new item replaces, as a whole and at the same place, the first item with the same identity, and further
// ones are removed. If there is none, the new item becomes the last one.
//
// Remove methods remove all items with an identity. They do nothing if there is none.
//
// Calling a Set, Ensure or Remove method again with the same arguments changes nothing. This is not so for the few
// methods that add an item in any case, whose names begin with Add or Append, and for
// [PolicyRulesEditor.RemoveRuleByIndex].
//
// Arguments are copied: what happens to them later does not affect the edited object, and edits do not affect them.
//
// Raw returns the edited value itself, not a copy, for everything that has no method. Editors notice what is changed
// there. Since Ensure and Remove methods replace a list by a new one, pointers to items of the list do not refer to the
// edited value afterwards.
//
// Maps and lists are created when they are needed. A constructor that is given nil returns an editor of a new, empty
// value, which Raw returns.
//
// Editors do not validate: the API server does. Only methods that cannot do what they are asked to do return an error,
// and change nothing then.
//
// An editor must not be used by several goroutines at the same time.
package editors
