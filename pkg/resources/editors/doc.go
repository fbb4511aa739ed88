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
// Ensure methods put an item into a list, or an entry into a map. The comment of each method defines the identity of an
// item. The new item replaces the first item with the same identity, completely and in place; further ones are removed.
// If there is none, the new item is appended.
//
// Remove methods remove all items with the given identity. They do nothing if there is none.
//
// Calling a Set, Ensure or Remove method again with the same arguments changes nothing. Exceptions are the few methods
// that always add an item, whose names begin with Add or Append, and [PolicyRulesEditor.RemoveRuleByIndex].
//
// Arguments are copied: later changes to them do not affect the edited object, and edits do not affect them.
//
// Raw returns the edited value itself, not a copy, for everything without a method. Editors see changes made through
// it. Ensure and Remove methods replace a list with a new one, so pointers to its items no longer refer to the edited
// value afterwards.
//
// Maps and lists are created on demand. If a constructor gets nil, it returns an editor of a new, empty value, which
// Raw returns.
//
// Editors do not validate; the API server does. Only methods that may be impossible return an error, and then change
// nothing.
//
// An editor must not be used by several goroutines at the same time.
package editors
