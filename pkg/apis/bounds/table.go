// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package bounds

import "github.com/slipway-dev/slipway/pkg/apis/limits"

const (
	// MaxItems is the most entries of a list or a map that the table does not name.
	MaxItems = 64
	// MaxText is the longest text that the table does not name, in bytes.
	MaxText = 1024
	// MaxErrors is the most errors that are reported of one object: putting them
	// together costs the square of their number (field.ErrorList.ToAggregate).
	MaxErrors = 32
	// MaxObject is the largest object that is stored, in bytes of its encoding: etcd's
	// own limit of a request is 1.5 MiB, and a client of the apiserver sends 2 MiB.
	MaxObject = 1 << 20

	// maxName is the longest name of an entity of vSphere's inventory or of a content
	// library, in bytes: 80 characters of at most 3 bytes, each of which vSphere may
	// escape (ManagedEntity.name).
	maxName = 255
	// maxHostName is the longest name in DNS, in bytes.
	maxHostName = 253
	// maxAnnotations is what annotations may have together in Kubernetes, in bytes
	// (TotalAnnotationSizeLimitB); validation adds them up.
	maxAnnotations = 256 << 10
	// maxClusterName is the longest name of a Cluster, in bytes: it is the value of a label.
	maxClusterName = 63
	// maxLabels is the most labels, finalizers or owners of an object: many more than
	// anybody needs. Kubernetes sets no limit.
	maxLabels = 512
)

// bound is what a field may hold.
type bound struct {
	// items of a list or a map; 0 is MaxItems.
	items int
	// text is the length of a string, or of each of the field's items, in bytes; 0 is
	// MaxText, and MaxObject for data.
	text int
	// lines lets text have tabulators and line feeds.
	lines bool
}

// table names the fields whose bounds are not the usual ones, by the name of the Go type
// that holds them and their name in JSON.
var table = map[string]bound{
	// 4 controllers of 64 disks (vSphere 8 configuration maximums).
	"VirtualMachineSpec.volumes": {items: 256},
	// The adapters, vGPUs and DirectPath devices of a VM (the same).
	"VirtualMachineNetworkSpec.interfaces":       {items: limits.MaxInterfaces},
	"VirtualMachineDevices.gpus":                 {items: 16},
	"VirtualMachineDevices.hostDevices":          {items: 32},
	"VirtualMachineInstancetypeSpec.gpus":        {items: 16},
	"VirtualMachineInstancetypeSpec.hostDevices": {items: 32},
	// A resolver asks 3 servers (resolv.conf(5)); 16 is room for other guests.
	"VirtualMachineNetworkSpec.nameservers":             {items: 16},
	"VirtualMachineNetworkSpec.searchDomains":           {items: 32},
	"VirtualMachineNetworkInterface.network":            {text: maxName},
	"VirtualMachineNetworkInterface.addressesFromPools": {items: 8},
	// There are as many kinds of devices to boot from, and hardly more of one.
	"VirtualMachineSpec.bootOrder": {items: 16},
	// The status tells of every member of a group; validation counts those of all steps.
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
	// The guest reports these.
	"VirtualMachineNetworkStatus.hostName": {text: maxHostName},
	"VirtualMachineGuestStatus.hostName":   {text: maxHostName},
	// A probe evaluates each expression again and again.
	"VirtualMachineReadinessProbe.guestInfo": {items: 16},
	"GuestInfoAction.key":                    {text: maxName},
	"GuestInfoAction.value":                  {text: maxName},
	// tz names have at most three parts of 14 characters.
	"LinuxPrepBootstrap.timeZone":   {text: 64},
	"CloudInitBootstrap.instanceID": {text: maxName},
	// The packed metadata, in which the keys are, has to fit into one variable of guestinfo.
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
	// A hundred and more certificates.
	"VCenterSpec.caBundle": {text: 256 << 10},
	// What Cluster API's v1beta2 lets these have, so that manifests move over.
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
	// Features of a CPU are in the hundreds.
	"CPUPreferences.preferredCPUFeatures":        {items: 512},
	"VirtualMachineInstancetypeSpec.annotations": {items: maxLabels, text: maxAnnotations, lines: true},
	"VirtualMachinePreferenceSpec.annotations":   {items: maxLabels, text: maxAnnotations, lines: true},
	// What a guest owner gives SEV is in base64: certificates of a few kilobytes.
	"SEV.session": {text: 16 << 10},
	"SEV.dhCert":  {text: 16 << 10},
}

// MaxProperty is the longest value of an OVF property, in bytes.
const MaxProperty = 16 << 10
