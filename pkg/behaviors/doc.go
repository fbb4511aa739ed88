// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package behaviors lets generated objects bring behaviors along: Go code that the reconciler calls when the turn of
// the object comes.
//
// A behavior is a value that implements some of the interfaces of this package. [Attach] attaches it to an object, and
// a generator returns the result like any other object:
//
//	database := &corev1.Secret{...}  // a controller fills it
//	client := &corev1.ConfigMap{...} // needs the host that is in the Secret
//	var host string
//	return []client.Object{
//		behaviors.Attach(database, behaviors.Extract(func(secret *unstructured.Unstructured) error { host = ...; return nil })),
//		behaviors.Attach(client, behaviors.AtStep(1), behaviors.Complete(func(manifest *unstructured.Unstructured) error { ... })),
//	}, nil
//
// # Steps
//
// The objects of one wave are applied in steps (see [Stepped]). A step begins when all requests of the step before are
// answered, and the data of its objects are extracted. Unlike a wave, it does not wait until these objects are ready.
// All behaviors of a set of objects are called by one goroutine, in the order of the steps, so that variables can carry
// data from one object to a later one.
//
// # Passes
//
// The reconciler calls behaviors in each pass. If the objects did not change, this costs no requests: the objects whose
// data are extracted are kept in memory, and each change of them leads to a pass. If a generator is pure, its objects
// may serve several passes of one component.
//
// # Transformers
//
// Behaviors stay with their objects in all transformers of this module. A transformer of your own that returns other
// objects than it was given calls [Carry]. Deletion hooks cannot have behaviors, because they are stored.
package behaviors
