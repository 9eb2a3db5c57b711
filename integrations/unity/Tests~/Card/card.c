/* Runs the shaders of the package on moments that the tests have recorded (CardTests.cs), with Vulkan, and compares the
 * vertices with those that the CPU writes.
 *     card FOLDER_OF_SPIRV MOMENT.card… */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

#define VARIANTS 7
#define KERNELS (1 + 4 * VARIANTS)
#define MAX_BINDINGS 8
#define CHECK(call)                                                                                         \
    do {                                                                                                    \
        VkResult result_ = (call);                                                                          \
        if (result_ != VK_SUCCESS) {                                                                        \
            fprintf(stderr, "%s: VkResult %d\n", #call, (int)result_);                                      \
            exit(1);                                                                                        \
        }                                                                                                   \
    } while (0)

static const char *const passes[4] = {"points", "normals", "tangents", "vertices_"};
static const char *const variants[VARIANTS] = {"POINTS_NARROW",      "POINTS_WIDE",         "POINTS_CODES",
                                               "POINTS_BONES",       "POINTS_BONES_APART",  "POINTS_BONES_PACKED",
                                               "POINTS_HEIGHTS"};
static const char *folder;
static VkPhysicalDevice adapter;
static VkDevice device;
static VkQueue queue;
static uint32_t family;
static VkCommandPool commands;

struct buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    uint32_t *words;
    uint32_t count;
};

struct kernel {
    VkDescriptorSetLayout bindings;
    VkPipelineLayout layout;
    VkPipeline pipeline;
};

static struct kernel kernels[KERNELS];

static void create_device(void) {
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    VkInstance instance;
    CHECK(vkCreateInstance(&info, NULL, &instance));
    uint32_t count = 1;
    VkResult found = vkEnumeratePhysicalDevices(instance, &count, &adapter);
    if ((found != VK_SUCCESS && found != VK_INCOMPLETE) || count == 0) {
        fprintf(stderr, "there is no Vulkan device\n");
        exit(77);
    }
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(adapter, &properties);
    printf("%s\n", properties.deviceName);
    VkQueueFamilyProperties families[16];
    count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(adapter, &count, families);
    for (family = 0; family < count && !(families[family].queueFlags & VK_QUEUE_COMPUTE_BIT);) family++;
    float priority = 1;
    VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueFamilyIndex = family,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority};
    VkDeviceCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queues};
    CHECK(vkCreateDevice(adapter, &create, NULL, &device));
    vkGetDeviceQueue(device, family, 0, &queue);
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .queueFamilyIndex = family};
    CHECK(vkCreateCommandPool(device, &pool, NULL, &commands));
}

static uint32_t *read_words(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    long bytes = ftell(file);
    rewind(file);
    uint32_t *words = malloc((size_t)bytes + 4);
    *count = fread(words, 4, (size_t)bytes / 4, file);
    fclose(file);
    return words;
}

/* Creates a kernel when it is first used: 0 places vertices, the others are the passes of each variant. */
static void create_kernel(uint32_t number) {
    if (number >= KERNELS || kernels[number].pipeline != VK_NULL_HANDLE) return;
    char path[1024];
    const char *name = number == 0 ? "place" : passes[(number - 1) % 4];
    if (number == 0) snprintf(path, sizeof path, "%s/place.spv", folder);
    else snprintf(path, sizeof path, "%s/%s.%s.spv", folder, variants[(number - 1) / 4], name);
    size_t count;
    uint32_t *code = read_words(path, &count);
    VkShaderModuleCreateInfo module_info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = 4 * count, .pCode = code};
    VkShaderModule module;
    CHECK(vkCreateShaderModule(device, &module_info, NULL, &module));
    free(code);
    VkDescriptorSetLayoutBinding bindings[MAX_BINDINGS];
    uint32_t used = number == 0 ? 3 : 8;
    for (uint32_t i = 0; i < used; i++) {
        bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                     .descriptorType = i == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                                                              : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                     .descriptorCount = 1,
                                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    }
    VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                           .bindingCount = used,
                                           .pBindings = bindings};
    struct kernel *own = &kernels[number];
    CHECK(vkCreateDescriptorSetLayout(device, &set, NULL, &own->bindings));
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &own->bindings};
    CHECK(vkCreatePipelineLayout(device, &layout, NULL, &own->layout));
    VkComputePipelineCreateInfo pipeline = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                            .layout = own->layout,
                                            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                      .module = module,
                                                      .pName = name}};
    CHECK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &pipeline, NULL, &own->pipeline));
}

static struct buffer create_buffer(const uint32_t *content, uint32_t count, VkBufferUsageFlags usage) {
    struct buffer made = {.count = count};
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = count > 0 ? 4ull * count : 4, .usage = usage};
    CHECK(vkCreateBuffer(device, &info, NULL, &made.handle));
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(device, made.handle, &needs);
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(adapter, &memory);
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = 0;
    while (!(needs.memoryTypeBits & (1u << type)) ||
           (memory.memoryTypes[type].propertyFlags & wanted) != wanted)
        type++;
    VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .allocationSize = needs.size, .memoryTypeIndex = type};
    CHECK(vkAllocateMemory(device, &allocate, NULL, &made.memory));
    CHECK(vkBindBufferMemory(device, made.handle, made.memory, 0));
    CHECK(vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, (void **)&made.words));
    if (count > 0) memcpy(made.words, content, 4ull * count);
    return made;
}

/* A dispatch of a file: what is at the cursor, which moves on. */
static void record(VkCommandBuffer list, VkDescriptorPool pool, const struct buffer *buffers, const uint32_t **cursor) {
    const uint32_t *at = *cursor;
    create_kernel(at[0]);
    struct kernel *own = &kernels[at[0]];
    uint32_t x = at[1], y = at[2], uniform_count = at[3];
    struct buffer uniforms = create_buffer(at + 4, uniform_count, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT);
    const uint32_t *bound = at + 4 + uniform_count;
    VkDescriptorSet set;
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                            .descriptorPool = pool,
                                            .descriptorSetCount = 1,
                                            .pSetLayouts = &own->bindings};
    CHECK(vkAllocateDescriptorSets(device, &allocate, &set));
    VkDescriptorBufferInfo infos[MAX_BINDINGS];
    VkWriteDescriptorSet writes[MAX_BINDINGS];
    for (uint32_t i = 0; i <= bound[0]; i++) {
        VkBuffer handle = i == 0 ? uniforms.handle : buffers[bound[i]].handle;
        infos[i] = (VkDescriptorBufferInfo){.buffer = handle, .range = VK_WHOLE_SIZE};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = i == 0 ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                                                    : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &infos[i]};
    }
    vkUpdateDescriptorSets(device, bound[0] + 1, writes, 0, NULL);
    vkCmdBindPipeline(list, VK_PIPELINE_BIND_POINT_COMPUTE, own->pipeline);
    vkCmdBindDescriptorSets(list, VK_PIPELINE_BIND_POINT_COMPUTE, own->layout, 0, 1, &set, 0, NULL);
    vkCmdDispatch(list, x, y, 1);
    VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                               .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                               .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_HOST_READ_BIT};
    vkCmdPipelineBarrier(list, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0,
                         NULL);
    *cursor = bound + 1 + bound[0];
}

static const uint32_t *run_dispatches(const struct buffer *buffers, const uint32_t *cursor, uint32_t *strides) {
    uint32_t count = *cursor++;
    VkDescriptorPoolSize sizes[2] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, count},
                                     {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, count * MAX_BINDINGS}};
    VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                       .maxSets = count,
                                       .poolSizeCount = 2,
                                       .pPoolSizes = sizes};
    VkDescriptorPool pool;
    CHECK(vkCreateDescriptorPool(device, &info, NULL, &pool));
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = commands,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    VkCommandBuffer list;
    CHECK(vkAllocateCommandBuffers(device, &allocate, &list));
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CHECK(vkBeginCommandBuffer(list, &begin));
    for (uint32_t i = 0; i < count; i++) {
        /* The placing of vertices has the words of a vertex as its third uniform, and writes its second buffer. */
        if (cursor[0] == 0) strides[cursor[4 + cursor[3] + 2]] = cursor[6];
        record(list, pool, buffers, &cursor);
    }
    CHECK(vkEndCommandBuffer(list));
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &list};
    CHECK(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE));
    CHECK(vkQueueWaitIdle(queue));
    return cursor;
}

/* Compares vertices: positions by the size of the mesh, directions by the length of the difference. */
static int compare(const float *got, const float *wanted, uint32_t count, uint32_t stride, const char *path) {
    double size = 0, position = 0, direction = 0;
    for (uint32_t i = 0; i < count; i++)
        if (i % stride < 3) size = fmax(size, fabs((double)wanted[i]));
    for (uint32_t i = 0; i < count; i++) {
        double off = fabs((double)got[i] - (double)wanted[i]);
        if (!(off >= 0)) off = INFINITY;
        if (i % stride < 3) position = fmax(position, off);
        else direction = fmax(direction, off);
    }
    printf("%s: %u vertices, largest difference of positions %.2g of %.3g, of directions %.2g\n", path, count / stride,
           position, size, direction);
    return count > 0 && size > 0 && position <= 1e-6 * size + 1e-7 && direction <= 5e-4;
}

static int check_file(const char *path) {
    size_t length;
    uint32_t *words = read_words(path, &length);
    const uint32_t *cursor = words;
    uint32_t count = *cursor++;
    struct buffer *buffers = calloc(count, sizeof *buffers);
    uint32_t *strides = calloc(count, sizeof *strides);
    for (uint32_t i = 0; i < count; i++) {
        buffers[i] = create_buffer(cursor + 1, cursor[0], VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
        cursor += 1 + cursor[0];
    }
    cursor = run_dispatches(buffers, cursor, strides);
    int good = 1;
    uint32_t meshes = *cursor++;
    for (uint32_t i = 0; i < meshes; i++) {
        uint32_t number = cursor[0], wanted = cursor[1];
        const float *got = (const float *)buffers[number].words;
        good &= compare(got, (const float *)(cursor + 2), wanted, strides[number], path);
        cursor += 2 + wanted;
    }
    if (cursor != words + length || meshes == 0) {
        fprintf(stderr, "%s is not understood\n", path);
        good = 0;
    }
    free(strides);
    free(buffers);
    free(words);
    return good;
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "card FOLDER_OF_SPIRV MOMENT.card...\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    create_device();
    folder = arguments[1];
    int good = 1;
    for (int i = 2; i < count; i++) good &= check_file(arguments[i]);
    return good ? 0 : 1;
}
