// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package redact removes values from messages, and from Secrets.
//
// An API server that refuses an object quotes the refused values. More people can read the places that show such messages (conditions,
// events, logs and terminals) than can read the object. Redacted messages keep the field and the rule. Values
// are removed for all kinds, because objects of any kind may hold secrets, except the values of fields that
// identify an object, such as its name, and names of types. If a request is about a Secret, the values of the Secret are removed
// wherever they occur in the message.
//
// This package cannot parse the texts of the cluster's policies and admission webhooks. They stay as they are,
// apart from values of Secrets.
package redact
