// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package redact removes values from messages, and from Secrets.
//
// An API server that refuses an object quotes the values that it does not accept. Such messages are shown where more people can
// read them than the object: in conditions, events, logs and terminals. What remains of them is the field and the rule. Values
// are removed for all kinds, because objects of any kind may hold something that is secret, except those of the fields that
// identify an object, such as its name, and names of types. Of requests that are about a Secret, its values are removed
// wherever they are found in the message.
//
// Texts that policies and admission webhooks of the cluster write themselves are not known here. They are left as they are,
// apart from values of Secrets.
package redact
