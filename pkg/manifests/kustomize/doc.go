// SPDX-FileCopyrightText: The component-operator-runtime authors
// SPDX-License-Identifier: Apache-2.0

// Package kustomize makes generators from kustomizations.
//
// Kustomize's own SDK builds the objects, so the result is that of "kustomize build". References of a kustomization,
// such as ../base, may lead anywhere on the file system; they are read when the generator is created. References that
// Kustomize would fetch (a URL, a repository) are refused. A folder without kustomization file is a kustomization of
// all YAML files in and below it, except those that begin with a dot.
//
// # Templates
//
// Before the build, the files in the folder of the kustomization are rendered as Go templates, unless the options
// disable that. Their data are the parameters of the component. All templates may use templates that one file defines.
// The functions are sprig's (without env, expandenv and getHostByName) and:
//
//	toYaml, fromYaml, fromYamlArray,    conversions; an error where sprig's counterparts yield nothing
//	toJson, toPrettyJson, toRawJson,    (the prefix must changes nothing)
//	fromJson, fromJsonArray
//	required MESSAGE VALUE              the value; an error if it is nil or an empty string
//	include NAME DATA, tpl TEXT DATA    output of a template, or of a text
//	bitwiseShiftLeft, -Right BY VALUE   unsigned 64 bit numbers, as are
//	bitwiseAnd, -Or, -Xor VALUE...
//	parseIPv4Address, formatIPv4Address between dotted notation and number
//	lookup APIVERSION KIND NAMESPACE NAME
//	                                    an object of the target cluster; with an empty name, the list of all;
//	                                    an empty map if it or its type does not exist, an error with mustLookup
//	lookupList APIVERSION KIND NAMESPACE SELECTOR
//	                                    the objects that have the labels
//	localLookup, mustLocalLookup,       the same in the cluster of the component
//	localLookupList
//	lookupWithKubeConfig, ...           the same, prefixed by must or with List, with a kubeconfig as last argument, which
//	                                    must not refer to files or programs
//	namespace, name                     what the generator is called with
//	component                           the component, as the Go object that it is
//	componentDigest, componentRevision
//	kubernetesVersion, apiResources     what the target cluster is
//	listFiles PATTERN, existsFile PATH, files of the kustomization, including ignored ones, and included
//	readFile PATH                       files; readFile returns bytes
//	generatedPassword NAME LENGTH,      secrets that are the same in each call, if the reconciler has the
//	generatedBytes NAME SIZE,           option GeneratedSecrets; see package secrets
//	generatedUUID NAME,
//	generatedCertificate NAME HOST...,
//	generatedSSHKey NAME
//
// A missing key renders as nothing. At most 16 MiB of text are rendered, and include and tpl nest at most 1000 times.
//
// # Configuration files
//
// The kustomization may contain a file .component-config.yaml, in which everything is optional:
//
//	templating: true                        # whether there are templates at all
//	templateSuffix: .tpl                    # as the options of the same names
//	leftTemplateDelimiter: "<<"
//	rightTemplateDelimiter: ">>"
//	values: {replicas: 1}                   # defaults for the data
//	includedFiles: [../common]              # files and folders outside, for listFiles, existsFile, and readFile
//	includedKustomizations: [../base]       # kustomizations outside whose files are templates, too
//
// and a file .component-ignore, in the notation of .gitignore, with the files that are not part of the kustomization.
//
// An included kustomization has its own configuration files and its own definitions, does not inherit suffix and
// delimiters, and gets the same data. It becomes part of the result only if a kustomization file refers to it.
//
// # Purity
//
// Objects are reused until the component or the kustomization changes; if templates called kubernetesVersion or
// apiResources, also until their results change. If templates looked up objects, they are not reused at all.
package kustomize
