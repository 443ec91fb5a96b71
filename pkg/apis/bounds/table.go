// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package bounds

import "github.com/slipway-dev/slipway/pkg/apis/limits"

const (
	// MaxItems is the maximum number of entries of a list or map that is not in the table.
	MaxItems = 64
	// MaxText is the maximum length of a string that is not in the table, in bytes.
	MaxText = 1024
	// MaxErrors is the maximum number of errors that are reported for an object. The cost of combining errors grows with
	// the square of their number (field.ErrorList.ToAggregate).
	MaxErrors = 32
	// MaxObject is the maximum size of a stored object, in bytes of its encoding. For comparison, etcd limits a request
	// to 1.5 MiB, and an API server client sends at most 2 MiB.
	MaxObject = 1 << 20

	// maxName is the maximum length of the name of an inventory object or content library in vSphere, in bytes: 80
	// characters of at most 3 bytes, each of which vSphere can escape (ManagedEntity.name).
	maxName = 255
	// maxHostName is the maximum length of a DNS name, in bytes.
	maxHostName = 253
	// maxAnnotations is the maximum total size of annotations in Kubernetes, in bytes (TotalAnnotationSizeLimitB).
	// Validation checks the total size.
	maxAnnotations = 256 << 10
	// maxClusterName is the maximum length of the name of a Cluster, in bytes, because it is used as a label value.
	maxClusterName = 63
	// maxLabels is the maximum number of labels, finalizers or owners of an object. Kubernetes has no limit. The value
	// is far higher than objects need.
	maxLabels = 512
)

// bound is the limit of a field.
type bound struct {
	// items is the maximum number of items of a list or map. 0 means MaxItems.
	items int
	// text is the maximum length of a string, or of each item of the field, in bytes. 0 means MaxText, or MaxObject for
	// byte slices.
	text int
	// lines allows tabs and line feeds.
	lines bool
}

// table contains the limits of fields that differ from the defaults. A key is the name of the Go struct and the JSON
// name of the field.
var table = map[string]bound{
	// 4 controllers of 64 disks (vSphere 8 configuration maximums).
	"VirtualMachineSpec.volumes": {items: 256},
	// The maximum numbers of adapters, vGPUs and DirectPath devices of a VM (vSphere 8 configuration maximums).
	"VirtualMachineNetworkSpec.interfaces":       {items: limits.MaxInterfaces},
	"VirtualMachineDevices.gpus":                 {items: 16},
	"VirtualMachineDevices.hostDevices":          {items: 32},
	"VirtualMachineInstancetypeSpec.gpus":        {items: 16},
	"VirtualMachineInstancetypeSpec.hostDevices": {items: 32},
	// A resolver uses 3 servers (resolv.conf(5)). Other guests can use more.
	"VirtualMachineNetworkSpec.nameservers":             {items: 16},
	"VirtualMachineNetworkSpec.searchDomains":           {items: 32},
	"VirtualMachineNetworkInterface.network":            {text: maxName},
	"VirtualMachineNetworkInterface.addressesFromPools": {items: 8},
	// A VM has only a few devices to boot from.
	"VirtualMachineSpec.bootOrder": {items: 16},
	// The status lists every member of a group. Validation limits the total number of members of all steps.
	"VirtualMachineGroupStep.members": {items: 256},
	"ZoneSpec.resourcePools":          {items: 32, text: maxName},
	"ZoneSpec.networks":               {items: 256},
	"ZoneSpec.devices":                {items: 256},
	"ZoneSpec.datacenter":             {text: maxName},
	"ZoneSpec.cluster":                {text: maxName},
	"ZoneSpec.folder":                 {text: maxName},
	"ZoneNetwork.network":             {text: maxName},
	"ZoneStorage.policy":              {text: maxName},
	"ZoneStorage.datastores":          {items: 64, text: maxName},
	"ZoneStorage.classes":             {items: 64},
	"ZoneStorageClass.policy":         {text: maxName},
	"ZoneStorageClass.datastores":     {items: 64, text: maxName},
	// The guest reports these values.
	"VirtualMachineNetworkStatus.hostName": {text: maxHostName},
	"VirtualMachineGuestStatus.hostName":   {text: maxHostName},
	// A probe evaluates each expression repeatedly.
	"VirtualMachineReadinessProbe.guestInfo": {items: 16},
	"GuestInfoAction.key":                    {text: maxName},
	"GuestInfoAction.value":                  {text: maxName},
	// Names in the tz database have at most three parts of 14 characters.
	"LinuxPrepBootstrap.timeZone":   {text: 64},
	"CloudInitBootstrap.instanceID": {text: maxName},
	// The compressed metadata, which contains the keys, must fit into one guestinfo variable.
	"CloudInitBootstrap.sshAuthorizedKeys": {items: 16, text: 2048},
	"CloudInitBootstrap.cloudConfig":       {text: 32 << 10, lines: true},
	"ContentLibraryImageSource.library":    {text: maxName},
	"ContentLibrarySpec.library":           {text: maxName},
	"ContentLibrarySpec.include":           {items: 64, text: maxName},
	"ContentLibrarySpec.exclude":           {items: 64, text: maxName},
	"ContentLibrarySpec.nameTemplate":      {text: maxName},
	"ContentLibrarySpec.defaults":          {items: 64},
	"ContentLibraryImageSource.item":       {text: maxName},

	"VirtualMachineImageCacheSpec.locations":         {items: 64},
	"VirtualMachineImageCacheLocation.datastore":     {text: maxName},
	"VirtualMachineImageCacheLocation.storagePolicy": {text: maxName},
	"VirtualMachineImageRef.snapshot":                {text: maxName},
	"VirtualMachinePublishTarget.item":               {text: maxName},
	"VirtualMachinePublishTarget.description":        {text: 2048, lines: true},
	"VirtualMachineSnapshotSpec.description":         {text: 2048, lines: true},
	"VAppConfigBootstrap.properties":                 {items: 256, text: MaxProperty, lines: true},
	"VirtualMachineDevice.deviceName":                {text: maxName},
	"GPU.deviceName":                                 {text: maxName},
	"HostDevice.deviceName":                          {text: maxName},
	"VirtualMachineClassSpec.description":            {text: 4096, lines: true},
	// Space for more than a hundred certificates.
	"VCenterSpec.caBundle": {text: 256 << 10},
	// The limits of Cluster API's v1beta2, so that its manifests are accepted.
	"MachineSpec.clusterName":                             {text: maxClusterName},
	"MachineSetSpec.clusterName":                          {text: maxClusterName},
	"MachineDeploymentSpec.clusterName":                   {text: maxClusterName},
	"MachineHealthCheckSpec.clusterName":                  {text: maxClusterName},
	"MachineSpec.providerID":                              {text: 512},
	"MachineSpec.failureDomain":                           {text: 256},
	"MachineSpec.version":                                 {text: 256},
	"MachineSpec.readinessGates":                          {items: 32},
	"MachineNamingSpec.template":                          {text: 256},
	"MachineDrainRuleSpec.machines":                       {items: 32},
	"MachineDrainRuleSpec.pods":                           {items: 32},
	"MachineHealthCheckChecks.unhealthyNodeConditions":    {items: 100},
	"MachineHealthCheckChecks.unhealthyMachineConditions": {items: 100},
	"NetworkRanges.cidrBlocks":                            {items: 100},
	"APIEndpoint.host":                                    {text: 512},
	"SlipwayClusterSpec.zones":                            {items: 100},
	"FailureDomain.name":                                  {text: 256},
	"ObjectMeta.annotations":                              {items: maxLabels, text: maxAnnotations, lines: true},
	"ObjectMeta.labels":                                   {items: maxLabels},
	"TemplateMetadata.annotations":                        {items: maxLabels, text: maxAnnotations, lines: true},
	"TemplateMetadata.labels":                             {items: maxLabels},
	// A CPU has hundreds of features.
	"CPUPreferences.preferredCPUFeatures":        {items: 512},
	"VirtualMachineInstancetypeSpec.annotations": {items: maxLabels, text: maxAnnotations, lines: true},
	"VirtualMachinePreferenceSpec.annotations":   {items: maxLabels, text: maxAnnotations, lines: true},
	// Base64-encoded certificates of a few kilobytes.
	"SEV.session": {text: 16 << 10},
	"SEV.dhCert":  {text: 16 << 10},
}

// MaxProperty is the maximum length of the value of an OVF property, in bytes.
const MaxProperty = 16 << 10
